# timings.sh - DEVICE: print a table of elementwise sums: 5 us plus three fp32 operands at 1.5e12 B/s, with 1 % noise.
awk -v device="$1" 'BEGIN {
    print "device,op,pass,dtype,d0,d1,latency_ms"
    for (i = 0; i < 48; i++) {
        m = 2 ^ (4 + i % 14); n = 128 * (1 + i % 9)
        printf "%s,add,fwd,fp32,%d,%d,%.6g\n", device, m, n, (1 + (i % 3 - 1) / 100) * (5e-3 + 12e3 * m * n / 1.5e12)
    }
    print device ",fft,fwd,fp32,64,64,1"
}'
