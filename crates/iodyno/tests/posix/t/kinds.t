#!/bin/sh
# Every type of file, its names, and how many of them it has.
. "$MANNER"
plan 35

expect 0 mkdir d 0755
expect dir lstat d type
expect 0 mkfifo p 0644
expect fifo,1 lstat p type,nlink
expect 0 mknod c c 0600 1 3
expect char,1,3 lstat c type,major,minor
expect 0 mknod b b 0600 7 200
expect block,7,200 lstat b type,major,minor
expect 0 mknod q f 0600 0 0
expect fifo lstat q type
expect 0 bind s
expect socket lstat s type
expect 0 create r 0644
expect regular,0 lstat r type,size
expect ECONNREFUSED connect s
for name in p c b s r; do
	expect 0 link "$name" "$name-too"
	expect 2 lstat "$name" nlink
	expect 0 unlink "$name-too"
done
expect 0 link r r2
check "two names, one number" [ "$(says stat r inode)" = "$(says stat r2 inode)" ]
expect '(EPERM|EISDIR)' link d d2
expect EEXIST link r r2
expect 2 stat r2 nlink
finish
