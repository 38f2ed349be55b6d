# One makes and the other removes, each waking the other: a wakeup just before a block is not lost.
set $dir=/tmp
set $runtime=1
define fileset name=swing,path=$dir,entries=1000,dirwidth=100,size=4k,prealloc=50
define flowop name=hand_over, $to { flowop wakeup name=wake,target=$to }
define process name=maker { thread name=m,memsize=1m {
  flowop createfile name=make,filesetname=swing,fd=1
  flowop writewholefile name=fill,fd=1
  flowop closefile name=close,fd=1
  flowop hand_over name=there,$to=removers
  flowop block name=makers
} }
define process name=remover { thread name=r,memsize=1m {
  flowop block name=removers
  flowop deletefile name=remove,filesetname=swing
  flowop hand_over name=back,$to=makers
} }
run $runtime
