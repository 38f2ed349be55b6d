# Two names, attributes, copies inside the kernel, lengths, mappings.
set $dir=/tmp
set $runtime=1
define fileset name=set,path=$dir,size=16k,entries=400,dirwidth=20,prealloc=60
define fileset name=other,path=$dir,size=16k,entries=400,dirwidth=20
define file name=mapped,path=$dir,size=1m,prealloc
define process name=names {
  thread name=namer,memsize=1m,instances=3 {
    flowop renamefile name=rename,filesetname=set
    flowop linkfile name=link,filesetname=set
    flowop deletefile name=unlink,filesetname=set
  }
  thread name=copier,memsize=1m {
    flowop openfile name=open,filesetname=set,fd=1
    flowop createfile name=create,filesetname=other,fd=2
    flowop copyfilerange name=copy,srcfd=1,fd=2
    flowop truncatefile name=cut,fd=2,iosize=4k
    flowop fallocatefile name=reserve,fd=2,iosize=32k
    flowop fdatasync name=sync,fd=2
    flowop closefile name=close1,fd=1
    flowop deletefile name=delete,filesetname=other,fd=2
    flowop closefile name=close2,fd=2
  }
  thread name=mapper,memsize=1m,instances=2 {
    flowop mmapread name=mapread,filesetname=mapped,iosize=4k,random
    flowop mmapwrite name=mapwrite,filesetname=mapped,iosize=4k,random
  }
}
run $runtime
