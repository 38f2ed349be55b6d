# Many append to one log, and to files of a set.
set $dir=/tmp
set $runtime=1
define fileset name=log,path=$dir,size=1k,entries=1,dirwidth=10,prealloc
define fileset name=set,path=$dir,size=8k,entries=40,dirwidth=10,prealloc=50
define process name=p,instances=2 {
  thread name=t,memsize=1m,instances=4 {
    flowop appendfile name=log,filesetname=log,iosize=100,fd=2
    flowop openfile name=open,filesetname=set,fd=1
    flowop appendfilerand name=append,fd=1,iosize=4k
    flowop fsync name=sync,fd=1
    flowop closefile name=close,fd=1
  }
}
run $runtime
