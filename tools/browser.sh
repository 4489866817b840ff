#!/usr/bin/env bash
# Make sure that a headless Chromium and a Chinese font are there, where this machine lets us.
if command -v chromium >/dev/null 2>&1; then echo "browser: there"; exit 0; fi
if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" != 0 ]; then
  echo "browser: skipped: chromium is not installed and apt is not ours to use"; exit 0
fi
export DEBIAN_FRONTEND=noninteractive
for attempt in 1 2 3; do
  apt-get -qq update >/dev/null 2>&1 &&
    apt-get -qq install -y --no-install-recommends chromium fonts-noto-cjk >/dev/null 2>&1 &&
    { echo "browser: installed"; exit 0; }
  sleep $((attempt * 5))
done
echo "browser: skipped: chromium cannot be had here"
