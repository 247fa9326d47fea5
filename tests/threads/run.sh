#!/bin/sh
# run.sh - COMMAND...: run COMMAND without address-space randomization if the machine permits. ThreadSanitizer of gcc 12
# needs this on kernels that randomize more than 28 bits (vm.mmap_rnd_bits).
arch=$(uname -m)
setarch "$arch" -R true 2>/dev/null && exec setarch "$arch" -R "$@"
exec "$@"
