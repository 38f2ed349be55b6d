# Version 1.4: composites with variables of their own, arithmetic, and a mix by random variables.
set $dir=/tmp
set $cnt=20
set $dirs=4
set $files=$cnt * $dirs
set $cluster=4k
set $iosize=$cluster * 2
set $eventrate=2000
set $runtime=1
define randvar name=$wrtiosize,type=tabular,min=1k,round=1k,randtable={{ 0,1k,7k},{50,9k,15k},{14,17k,23k},{36,25k,31k}}
define randvar name=$fileidx,type=gamma,min=0,gamma=100
set $fileidx.mean=10

define fileset name=netfiles,path=$dir,size=$cluster*4,entries=$files,dirwidth=20,prealloc=60

define flowop name=rmw,$fid,$mysize=1k {
  flowop openfile name=rmwopen,filesetname=netfiles,indexed=$fileidx,fd=$fid
  flowop readwholefile name=rmwread,iosize=$mysize,fd=$fid
  flowop write name=rmwwrite,iosize=$mysize,fd=$fid,iters=2
  flowop closefile name=rmwclose,fd=$fid
}
define flowop name=launch {
  flowop openfile name=open1,filesetname=netfiles,fd=3
  flowop read name=launchread,iosize=$iosize,fd=3,iters=3
  flowop closefile name=close1,fd=3
}
define process name=netclient,instances=1 {
  thread name=fileuser,memsize=10m,instances=3 {
    flowop launch name=launch1,iters=1
    flowop rmw name=rmw1,iters=2,$fid=1,$mysize=$wrtiosize
    flowop statfile name=stat1,filesetname=netfiles
    flowop eventlimit name=ratecontrol
  }
}
eventgen rate=$eventrate
run $runtime
