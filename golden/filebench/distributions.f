# One size from each plug-in.
set $dir=/tmp
set $runtime=1
set $a=cvar(type=cvar-gamma,parameters=mean:8192;gamma:1.5)
set $b=cvar(type=cvar-uniform,parameters=lower:1024;upper:8192)
set $c=cvar(type=cvar-normal,parameters=mean:8192;sigma:1024,min=512,max=16384)
set $d=cvar(type=cvar-lognormal,parameters=mean:8;sigma:0.5,round=512)
set $e=cvar(type=cvar-exponential,parameters=rate:0.001)
set $f=cvar(type=cvar-erlang,parameters=shape:2;rate:0.001)
set $g=cvar(type=cvar-triangular,parameters=lower:512;upper:8192;mode:2048)
set $h=cvar(type=cvar-weibull,parameters=shape:1;scale:4096)
define file name=one,path=$dir,size=4m,prealloc
define process name=p {
  thread name=t,memsize=2m {
    flowop write name=wa,filesetname=one,iosize=$a,random
    flowop write name=wb,filesetname=one,iosize=$b,random
    flowop write name=wc,filesetname=one,iosize=$c,random
    flowop write name=wd,filesetname=one,iosize=$d,random
    flowop read name=re,filesetname=one,iosize=$e,random
    flowop read name=rf,filesetname=one,iosize=$f,random
    flowop read name=rg,filesetname=one,iosize=$g,random
    flowop read name=rh,filesetname=one,iosize=$h,random
  }
}
run $runtime
