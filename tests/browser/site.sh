#!/bin/sh
# site.sh - PROGRAM: build the page without a server, and test it in Chromium with the network off. Runs in the root of the sources.
set -e
tools/site.sh build-site
exec node tests/browser/site.js "$1" build-site
