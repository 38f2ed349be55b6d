# More sets than the original has room for.
set $dir=/tmp
set $runtime=1
define fileset name=set0,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set1,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set2,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set3,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set4,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set5,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set6,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set7,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set8,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set9,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set10,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set11,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set12,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set13,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set14,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set15,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set16,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set17,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set18,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define fileset name=set19,path=$dir,size=4k,entries=10,dirwidth=100,prealloc
define process name=p {
  thread name=t,memsize=1m,instances=3 {
    flowop read name=r0,filesetname=set0,iosize=2k,fd=0,random
    flowop read name=r1,filesetname=set1,iosize=2k,fd=1,random
    flowop read name=r2,filesetname=set2,iosize=2k,fd=2,random
    flowop read name=r3,filesetname=set3,iosize=2k,fd=3,random
    flowop read name=r4,filesetname=set4,iosize=2k,fd=4,random
    flowop read name=r5,filesetname=set5,iosize=2k,fd=5,random
    flowop read name=r6,filesetname=set6,iosize=2k,fd=6,random
    flowop read name=r7,filesetname=set7,iosize=2k,fd=7,random
    flowop read name=r8,filesetname=set8,iosize=2k,fd=8,random
    flowop read name=r9,filesetname=set9,iosize=2k,fd=9,random
    flowop read name=r10,filesetname=set10,iosize=2k,fd=10,random
    flowop read name=r11,filesetname=set11,iosize=2k,fd=11,random
    flowop read name=r12,filesetname=set12,iosize=2k,fd=12,random
    flowop read name=r13,filesetname=set13,iosize=2k,fd=13,random
    flowop read name=r14,filesetname=set14,iosize=2k,fd=14,random
    flowop read name=r15,filesetname=set15,iosize=2k,fd=15,random
    flowop read name=r16,filesetname=set16,iosize=2k,fd=16,random
    flowop read name=r17,filesetname=set17,iosize=2k,fd=17,random
    flowop read name=r18,filesetname=set18,iosize=2k,fd=18,random
    flowop read name=r19,filesetname=set19,iosize=2k,fd=19,random
    flowop fsyncset name=sync,filesetname=set3
  }
}
run $runtime
