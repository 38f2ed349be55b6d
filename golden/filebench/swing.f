# Two threads by turns: one makes files while the other waits, then they change.
set $dir=/tmp
set $count=1k
set $nfiles=400
set $runtime=1
define fileset name=directory,path=$dir,size=2k,entries=$nfiles,dirwidth=100,prealloc=50
define process name=swing,instances=1 {
  thread name=create,memsize=1m {
    flowop createfile name=creator,filesetname=directory,fd=1
    flowop writewholefile name=wfile,fd=1,iosize=64k
    flowop closefile name=closer,fd=1
    flowop wakeup name=wakedelete,target=sleepdelete
    flowop opslimit name=limit
  }
  thread name=delete,memsize=1m {
    flowop block name=sleepdelete
    flowop deletefile name=deleter,filesetname=directory,iters=1
  }
}
eventgen rate=$count
run $runtime
