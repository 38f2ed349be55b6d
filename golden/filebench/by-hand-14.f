# Processes that are created, looked at and shut down by hand, as 1.4 is used at its prompt.
set $dir=/tmp
set $runtime=1
define fileset name=queue,path=$dir,size=4k,filesizegamma=0,entries=200,dirwidth=50,prealloc=100,cached=true
define process name=reader,instances=2
{
	thread name=readers,memsize=1m,instances=2
	{
		flowop openfile name=open,filesetname=queue,fd=1
		flowop readwholefile name=read,fd=1
		flowop closefile name=close,fd=1
	}
}
usage "set \$runtime=SECONDS"
create filesets
system "test -d $dir/queue"
create processes
sleep 0.2
stats clear
sleep $runtime
stats snap
sleep 0.2
stats snap
shutdown processes
quit
run 100
