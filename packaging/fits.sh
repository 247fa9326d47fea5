#!/bin/sh
# fits.sh - the gate of the GitHub Action: fail if a model does not fit one of the devices. Reads MODEL, DEVICES (separated by
# spaces or commas), OPTIONS and PROGRAM; writes a table to $GITHUB_STEP_SUMMARY, if that is set.
program=${PROGRAM:-centimani}
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
failed=0
printf '| device | fits |\n|---|---|\n' >>"$summary"
for device in $(echo "$DEVICES" | tr ',' ' '); do
    # OPTIONS is a list of words, such as "--batch 4 --seq 2048".
    said=$($program fits "$MODEL" --device "$device" $OPTIONS 2>&1)
    status=$?
    line=$(echo "$said" | grep -E '^(yes|no|unsure)' || echo "$said" | tail -1)
    printf '| %s | %s |\n' "$device" "$line" >>"$summary"
    echo "$device: $line"
    [ $status -eq 0 ] && continue
    echo "::error title=$MODEL does not fit $device::$line"
    failed=1
done
exit $failed
