#!/bin/sh
# The command `cmbuild`. Ctrl-C waits until `cmbuild.cli` handles it: Python itself has no handler
# at first, and then one that prints a traceback of its own start.

interrupted() {
    echo "error: interrupted" >&2
    case " $* " in
    *" --json "*) printf '{\n  "error": "interrupted",\n  "hint": null,\n  "exit_code": 130\n}\n' ;;
    esac
    exit 130
}
trap 'interrupted "$@"' INT

case $0 in
*/*) program=$0 ;;
*) program=./$0 ;;
esac
[ ! -L "$program" ] || program=$(readlink -f -- "$program")
program=${program%/*}/cmbuild-python
case $(env --help 2>&1) in
*--block-signal*) exec env --block-signal=INT "$program" "$@" ;;
esac
exec "$program" "$@"
