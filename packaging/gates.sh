#!/bin/sh
# gates.sh - the gates of the GitHub Action: fail if a model does not fit one of the devices, or misses a limit on it. Reads
# MODEL, DEVICES (separated by spaces or commas), OPTIONS, MAX_STEP, MAX_MEMORY, MIN_THROUGHPUT (empty: no limit) and PROGRAM;
# writes a table to $GITHUB_STEP_SUMMARY, if that is set. Exits as `centimani fits`: 1 if one of them fails, 3 if only unsure.
program=${PROGRAM:-centimani}
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
limits="${MAX_STEP:+ --max-step $MAX_STEP}${MAX_MEMORY:+ --max-memory $MAX_MEMORY}${MIN_THROUGHPUT:+ --min-throughput $MIN_THROUGHPUT}"
failed=0

# report TITLE STATUS LINE: one line of the table, and an error if the status is not 0
report() {
    printf '| %s | %s |\n' "$device" "$3" >>"$summary"
    echo "$device: $3"
    [ "$2" -eq 0 ] && return
    echo "::error title=$MODEL $1 $device::$3"
    [ "$2" -eq 3 ] && [ $failed -eq 0 ] && failed=3
    [ "$2" -eq 3 ] || failed=1
    return 0
}

printf '| device | answer |\n|---|---|\n' >>"$summary"
for device in $(echo "$DEVICES" | tr ',' ' '); do
    # OPTIONS is a list of words, such as "--batch 4 --seq 2048"; so are the limits.
    said=$($program fits "$MODEL" --device "$device" $OPTIONS 2>&1)
    status=$?
    [ $status -eq 3 ] && title="may not fit" || title="does not fit"
    report "$title" $status "$(echo "$said" | grep -E '^(It fits|It does not fit|Unsure whether it fits)' || echo "$said" | tail -1)"
    [ -n "$limits" ] || continue
    # On standard error: the limits that are missed, or why there is no prediction.
    said=$($program predict "$MODEL" --device "$device" $OPTIONS $limits --json 2>&1 >/dev/null)
    status=$?
    said=$(echo "$said" | grep -v '^centimani: warning' | sed 's/^centimani: //' | paste -sd ';' -)
    report "is too slow or too large on" $status "${said:-within the limits:$limits}"
done
exit $failed
