#!/bin/sh
# Installs iodyno, and makes the command `iodyno` that the suite starts as: iodyno TEST read|write
set -e
here=$(pwd)
program=${IODYNO:-}
if [ -z "$program" ]; then
    python3 -m venv "$here/environment"
    "$here/environment/bin/pip" install --quiet ${IODYNO_WHEELS:+--no-index --find-links "$IODYNO_WHEELS"} iodyno==0.2.0
    program=$here/environment/bin/iodyno
fi
cat > figure.py <<'PYTHON'
"""The median over passes of one phase's rate, as a line for the suite; nothing where a finding makes it invalid."""
import json
import statistics
import sys

record, name = json.load(open(sys.argv[1])), sys.argv[2]
for finding in record["findings"]:
    if finding["severity"] == "invalid":
        sys.exit("no result: " + finding["sentence"])
rates = [
    line["bytes_per_second"] / 1e6
    for phase in record["phases"]
    if phase["name"] == name
    for job in phase["jobs"]
    for line in job["lines"]
]
if not rates:
    sys.exit("no result: the card has no " + name)
print("result: %.3f MB/s" % statistics.median(rates))
PYTHON
cat > iodyno <<SCRIPT
#!/bin/sh
# \$1: a line of the card with _ for blanks; \$2: read or write
rm -f card.json
IODYNO_HISTORY=off "$program" measure --quick --json card.json \$IODYNO_OPTIONS . > card.txt 2> messages.txt || { cat messages.txt; exit 1; }
name=\$(echo "\$1 \$2" | tr _ ' ')
python3 figure.py card.json "\$name" > "\${LOG_FILE:-/dev/stdout}"
status=\$?
echo \$status > "\$HOME/test-exit-status"
exit \$status
SCRIPT
chmod +x iodyno
echo 0 > "$HOME/install-exit-status"
