# Other ways to the kernel for reads and writes.
set $dir=/tmp
set $runtime=1
define fileset name=set,path=$dir,size=64k,entries=16,dirwidth=10,prealloc
define process name=p {
  thread name=a,memsize=1m,engine=pvsync { flowop read name=ra,filesetname=set,iosize=4k,random,fd=1 }
  thread name=b,memsize=1m,engine=libaio { flowop write name=wb,filesetname=set,iosize=4k,random,fd=1 }
  thread name=c,memsize=1m,engine=posixaio {
    flowop aiowrite name=wc,filesetname=set,iosize=4k,fd=1,iters=8
    flowop aiowait name=wait
  }
}
run $runtime
