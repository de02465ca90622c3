#!/bin/sh
# Hold a training job to the speed of a baseline.
#
#   gate.sh check CAPTURE    compare with the baseline; prints Markdown for a pull request
#   gate.sh save CAPTURE     make this capture the baseline
#
# Exit codes are those of `stepscope compare`: 0 fine, 4 slower than the gate allows or not comparable, others: an error.
# STEPSCOPE_GATE   what fails (slower:5%)
# STEPSCOPE_STATE  directory that the CI keeps between runs: the capture of the baseline and its name (.stepscope)
set -eu

gate=${STEPSCOPE_GATE:-slower:5%}
mkdir -p "${STEPSCOPE_STATE:-.stepscope}"
state=$(cd "${STEPSCOPE_STATE:-.stepscope}" && pwd)
export STEPSCOPE_WORKSPACE="$state/workspace"

usage() {
    echo "usage: gate.sh check|save CAPTURE" >&2
    exit 2
}

[ $# -eq 2 ] || usage
case $1 in
check)
    if [ -d "$state/main" ]; then
        stepscope compare --baseline main "$2" --fail-if "$gate" --markdown
    else
        echo "There is no baseline yet; the verdict on this run alone:"
        echo
        stepscope report "$2" --markdown
    fi
    ;;
save)
    # A copy: the place where the job records is used again.
    rm -rf "$state/main"
    mkdir "$state/main"
    cp -R "$2" "$state/main/"
    stepscope compare "$state/main" --save-baseline main
    ;;
*) usage ;;
esac
