# What scripts do that the shipped ones do not: empty files, directories of files, gamma without a mean, composites by the caller's count.
set $dir=/tmp
set $runtime=1
set $few=randvar(type=gamma,gamma=3000)

define file name=log,path=$dir,size=0,prealloc
define fileset name=set,path=$dir,size=4k,entries=60,dirwidth=10,prealloc=100
define fileset name=tiny,path=$dir,size=$few,entries=20,dirwidth=100,prealloc=100

define flowop name=inner,$set=set {
  flowop openfile name=open,filesetname=$set,fd=1
  flowop readwholefile name=read,fd=1,iosize=64k
  flowop closefile name=close,fd=1
}
define flowop name=outer,$times=2 {
  flowop inner name=many,$set=set,iters=$times
  flowop inner name=small,$set=tiny
}

define process name=wild,instances=1 {
  thread name=wild,memsize=1m,instances=2 {
    flowop outer name=all,$times=3
    flowop listdir name=list,filesetname=set
    flowop appendfile name=note,filename=log,iosize=100
    flowop finishoncount name=enough,value=2000
  }
}
run $runtime
