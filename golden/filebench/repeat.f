# Commands repeated with one variable; reports while it runs; latencies as histograms.
set $dir=/tmp
set $runtime=0.3
enable lathist
define fileset name=set,path=$dir,size=cvar(type=cvar-gamma,parameters=mean:4096;gamma:1.5),entries=50,dirwidth=10,prealloc
define process name=p {
  thread name=t,memsize=1m,instances=$nthreads {
    flowop openfile name=open,filesetname=set,fd=1
    flowop readwholefile name=read,fd=1
    flowop closefile name=close,fd=1
  }
}
set $nthreads=1
foreach $nthreads in 1, 2 { run $runtime }
psrun -1 $runtime
