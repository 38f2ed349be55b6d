#!/bin/sh
# Renaming over every type of file, and what the sticky bit forbids.
. "$MANNER"
plan 40

make() {
	case $1 in
	regular) "$HELPER" create "$2" 0644 ;;
	dir) "$HELPER" mkdir "$2" 0755 ;;
	fifo) "$HELPER" mkfifo "$2" 0644 ;;
	char) "$HELPER" mknod "$2" c 0644 1 3 ;;
	symlink) "$HELPER" symlink nowhere "$2" ;;
	esac >/dev/null
}

for from in regular fifo symlink; do
	for to in regular char fifo symlink; do
		make $from a
		make $to b
		expect 0 rename a b
		expect $from lstat b type
		"$HELPER" unlink b >/dev/null
	done
done
make regular f
make dir d
expect EISDIR rename f d
expect ENOTDIR rename d f
make dir e
make regular e/x
expect '(ENOTEMPTY|EEXIST)' rename d e
expect 0 unlink e/x
expect 0 rename d e
expect ENOENT lstat d type
expect 0 mkdir sticky 01777
expect 0 -u 65534 -g 65534 create sticky/f 0666
expect '(EPERM|EACCES)' -u 65533 -g 65533 unlink sticky/f
expect '(EPERM|EACCES)' -u 65533 -g 65533 rename sticky/f sticky/g
expect 0 -u 65534 -g 65534 rename sticky/f sticky/g
expect 0 chmod sticky 0777
expect 0 -u 65533 -g 65533 unlink sticky/g
expect 0 rmdir sticky
expect 0 open . O_RDONLY : renameat 0 f 0 g
expect regular lstat g type
finish
