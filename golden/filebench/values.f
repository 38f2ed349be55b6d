# What random variables draw is told with its mean and its deviation; what is printed, with how often it came by.
set $dir=/tmp
set $runtime=1
set $even=randvar(type=uniform,min=1k,mean=5k)
set $bell=cvar(type=cvar-normal,parameters=mean:4096;sigma:512,min=1024,max=8192)
define fileset name=set,path=$dir,size=$bell,entries=100,dirwidth=10,prealloc
define process name=p { thread name=t,memsize=1m {
  flowop testrandvar name=even,value=$even
  flowop testrandvar name=bell,value=$bell,iters=3
  flowop print name=where,value=$dir
  flowop read name=read,filesetname=set,iosize=$even
} }
run $runtime
