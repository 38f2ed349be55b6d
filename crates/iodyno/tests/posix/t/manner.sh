# What the .t files of this folder share: a plan, and checks that call the helper, in the manner of the field's suites.
#
# HELPER names the helper. Every file begins with `plan N`, works in a directory of its own below the current one, and ends
# with `finish`. A check compares the last line that the helper says with an extended regular expression.

LC_ALL=C
export LC_ALL
umask 022
number=0
planned=0
place="t-$$"
mkdir "$place" && cd "$place" || exit 1
chmod 0755 .

plan() {
	planned=$1
	echo "1..$planned"
}

# verdict WORDS OUTCOME: one line of TAP.
verdict() {
	number=$((number + 1))
	if [ -z "$2" ]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1: $2"
	fi
}

# expect PATTERN ARGUMENTS…: the helper's last line is that.
expect() {
	pattern=$1
	shift
	said=$("$HELPER" "$@" 2>/dev/null | tail -n 1)
	if printf '%s\n' "$said" | grep -Eqx -- "$pattern"; then
		verdict "$*" ""
	else
		verdict "$*" "expected $pattern, got $said"
	fi
}

# says ARGUMENTS…: what the helper says, for later comparison.
says() {
	"$HELPER" "$@" 2>/dev/null | tail -n 1
}

# check WORDS COMMAND…: the command succeeds.
check() {
	words=$1
	shift
	if "$@"; then
		verdict "$words" ""
	else
		verdict "$words" "it is not so"
	fi
}

# longest: a name of NAME_MAX bytes.
longest() {
	printf "%0$(says pathconf . _PC_NAME_MAX)d" 0
}

finish() {
	cd .. && rm -rf "$place"
	[ "$number" -eq "$planned" ]
}
