//! A clean root of Debian, made once by debootstrap and copied for each part; a part sees nothing of this machine but its devices.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::super::external::{empty_folder, lines_of, lines_within, write};
use super::{Trial, Tried, Unmade, expect, needs, script};

const SUITE: &str = "bookworm";
/// What a user's system has besides the least.
const INCLUDED: &str = "bash-completion,man-db,zsh";
/// A mirror sends some hundred packages.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// A root of its own for a part.
struct Root {
    folder: PathBuf,
}

impl Root {
    fn of(trial: &Trial, name: &str) -> Result<Root, Unmade> {
        needs("debootstrap")?;
        needs("unshare")?;
        let clean = trial.release.scratch.join("debian");
        if !clean.is_dir() {
            let fresh = trial.release.scratch.join("debian.new");
            empty_folder(&fresh)?;
            let mut command = Command::new("debootstrap");
            command.args(["--variant=minbase", &format!("--include={INCLUDED}"), SUITE]).arg(&fresh);
            lines_within(command, LIMIT).map_err(|why| Unmade::Skipped(format!("no clean Debian: {why}")))?;
            std::fs::rename(&fresh, &clean).map_err(|error| Unmade::Failed(error.to_string()))?;
        }
        let folder = trial.folder(name);
        empty_folder(&folder)?;
        let from = format!("{}/.", clean.display());
        lines_of("cp", &["-a", "--reflink=auto", &from, &folder.display().to_string()], Path::new("/"))?;
        Ok(Root { folder })
    }

    /// Runs a script inside, in namespaces of its own: its mounts and processes go with it.
    fn run(&self, text: &str) -> Result<Vec<String>, Unmade> {
        let root = self.folder.display();
        write(&self.folder.join("trial.sh"), text.as_bytes())?;
        let mounts = format!(
            "mount -t proc proc '{root}/proc'; mount --rbind /dev '{root}/dev'; mount -t sysfs sysfs '{root}/sys'; \
             exec chroot '{root}' /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root \
             LC_ALL=C.UTF-8 TERM=dumb DEBIAN_FRONTEND=noninteractive bash -eu /trial.sh"
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-e", "-c", &mounts]);
        let said = lines_within(command, LIMIT);
        let _ = std::fs::remove_file(self.folder.join("trial.sh"));
        Ok(said?)
    }

    fn copy(&self, file: &Path) -> Result<(), Unmade> {
        let place = self.folder.join("tmp").join(file.file_name().unwrap_or_default());
        std::fs::copy(file, place).map_err(|error| Unmade::Failed(error.to_string()))?;
        Ok(())
    }
}

/// What every file of a root is, but for what systems write as they run.
const LIST: &str = "find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /var/log \
                    -o -path /var/cache \
                    -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path ~ -o -path /trial.sh -o -path /run \\) \
                    -prune -o -printf '%p %y %l %m\\n' | sort";

/// A user's session with the program: it measures, says what the machine lacks, is completed and has its pages.
const SESSION: &str = r#"
mkdir -p ~/place
iodyno measure --quick --no-save ~/place
echo "measured: $?"
iodyno doctor || test $? = 1
echo "doctor: done"
"#;

/// Completion as the shells do it when somebody presses the tabulator.
const COMPLETION: &str = r#"
bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader iodyno || test $? = 124
    COMP_WORDS=(iodyno meas) COMP_CWORD=1 COMP_LINE="iodyno meas" COMP_POINT=11 COMP_TYPE=9
    handler=$(complete -p iodyno | sed -n "s/.* -F \([^ ]*\) .*/\1/p"); $handler iodyno meas iodyno
    echo "bash: ${COMPREPLY[*]}"'
cat > /tmp/complete.zsh <<'EOF'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PROMPT=; autoload -U compinit; compinit -u -d /tmp/dump; print "com""ps: $_comps[iodyno]"'
zpty -r -m shell line '*comps: _iodyno*' && print "zsh knows _iodyno"
zpty -n -w shell $'iodyno meas\t'
zpty -r -m shell line '*iodyno measure*' && print "zsh: measure"
zpty -d shell
EOF
timeout 60 zsh -f /tmp/complete.zsh
"#;

/// The .deb: installed, used, and gone without a trace.
pub fn package(trial: &Trial) -> Tried {
    let package = trial.made(&format!("_{}.deb", trial.processor.debian()))?;
    let root = Root::of(trial, "deb")?;
    root.copy(&package)?;
    let before = root.run(LIST)?;
    let said = root.run(
        "apt-get -q -y --no-install-recommends install /tmp/*.deb || dpkg -i /tmp/*.deb; iodyno --version",
    )?;
    expect(&said, &format!("iodyno {}", trial.release.version))?;
    let said = root.run(SESSION)?;
    expect(&said, "measured: 0")?;
    expect(&said, "doctor: done")?;
    let said = root.run("man iodyno-fio | cat; man iodyno | cat")?;
    expect(&said, "iodyno fio")?;
    let said = root.run(COMPLETION)?;
    expect(&said, "bash: measure")?;
    expect(&said, "zsh: measure")?;
    root.run("dpkg --purge iodyno; rm -f /tmp/dump")?;
    let after = root.run(LIST)?;
    let differing: Vec<&String> = before
        .iter()
        .filter(|line| !after.contains(line))
        .chain(after.iter().filter(|line| !before.contains(line)))
        .collect();
    if !differing.is_empty() {
        return Err(Unmade::Failed(format!("it left or took: {differing:?}")));
    }
    Ok("installed, measured, doctor, man, completion in bash and zsh; purged, and nothing is left".into())
}

/// Names of tools: taken where they are free, left alone where they are not, given back.
pub fn names(trial: &Trial) -> Tried {
    let package = trial.made(&format!("_{}.deb", trial.processor.debian()))?;
    let root = Root::of(trial, "deb-names")?;
    root.copy(&package)?;
    let said = root.run(
        r#"
original() { # a package of somebody else with a program of that name
    mkdir -p "/tmp/$1/DEBIAN" "/tmp/$1/usr/bin"
    printf 'Package: %s-original\nVersion: 1\nArchitecture: all\nMaintainer: n <n@invalid>\nDescription: d\n' "$1" \
        > "/tmp/$1/DEBIAN/control"
    printf '#!/bin/sh\necho original %s\n' "$1" > "/tmp/$1/usr/bin/$1"; chmod 755 "/tmp/$1/usr/bin/$1"
    dpkg-deb -b "/tmp/$1" "/tmp/$1-original.pkg"; dpkg -i "/tmp/$1-original.pkg"
}
original ior
printf '#!/bin/sh\necho local fio\n' > /usr/local/bin/fio; chmod 755 /usr/local/bin/fio
dpkg -i /tmp/iodyno_*.deb
ior; fio
test ! -e /usr/bin/fio && echo "a local name is left alone"
mdtest --help | grep -q iodyno && echo "mdtest is ours"
dd --version | grep -q -i coreutils && echo "dd is the system's"
/usr/lib/iodyno/tools/fio --version
original mdtest
mdtest
dpkg -i /tmp/iodyno_*.deb
mdtest; echo "installed again"
dpkg --purge iodyno
ior; mdtest
test ! -e /usr/bin/iozone && test ! -L /usr/bin/iozone && test ! -e /etc/alternatives/iozone && echo "names are given back"
ls /var/lib/dpkg/alternatives /etc/alternatives | grep -x -e fio -e ior -e mdtest -e iozone || echo "no alternative is left"
"#,
    )?;
    for text in [
        "original ior",
        "local fio",
        "a local name is left alone",
        "mdtest is ours",
        "dd is the system's",
        "original mdtest",
        "installed again",
        "names are given back",
        "no alternative is left",
    ] {
        expect(&said, text)?;
    }
    Ok("free names are linked, others' are left alone before and after, all are given back".into())
}

/// The tarball, unpacked over /usr/local.
pub fn tarball(trial: &Trial) -> Tried {
    let packed = trial.made(&format!("{}-linux-gnu.tar.gz", trial.processor))?;
    let root = Root::of(trial, "tarball")?;
    root.copy(&packed)?;
    let said = root.run(&format!(
        "tar -xzf /tmp/*.tar.gz -C /usr/local --strip-components=1; iodyno --version; man iodyno-fio | cat; {SESSION}"
    ))?;
    expect(&said, &format!("iodyno {}", trial.release.version))?;
    expect(&said, "measured: 0")?;
    expect(&said, "iodyno fio")?;
    Ok("unpacked over /usr/local: measured, doctor, man".into())
}

/// The .rpm, into a root of its own and out of it again.
pub fn rpm(trial: &Trial) -> Tried {
    needs("rpm")?;
    let package = trial.made(&format!(".{}.rpm", trial.processor))?;
    let root = Root::of(trial, "rpm")?;
    let before = root.run(LIST)?;
    let rpm = format!("rpm --root '{}' --dbpath /var/lib/iodyno-rpm", root.folder.display());
    script(
        "sh",
        &format!("rpm -K --nosignature '{}'; {rpm} -i --nodeps '{}'", package.display(), package.display()),
    )?;
    let said = root.run("iodyno --version; mdtest --help; man iodyno-fio | cat")?;
    expect(&said, &format!("iodyno {}", trial.release.version))?;
    expect(&said, "iodyno fio")?;
    script("sh", &format!("{rpm} -e iodyno; rm -rf '{}/var/lib/iodyno-rpm'", root.folder.display()))?;
    let after = root.run(LIST)?;
    let left: Vec<&String> = after.iter().filter(|line| !before.contains(line)).collect();
    if left.is_empty() {
        Ok("installed, run, erased, and nothing is left".into())
    } else {
        Err(Unmade::Failed(format!("it left {left:?}")))
    }
}
