//! The container image, read and started by buildah, which needs no service.

use super::super::external::{empty_folder, lines_of};
use super::{Trial, Tried, Unmade, expect, needs, script};

/// Reads the archive, runs the program in it as its own user, and removes it again.
pub fn container(trial: &Trial) -> Tried {
    needs("buildah")?;
    let archive = trial.made(&format!("-{}-container.tar", trial.processor))?;
    let folder = trial.folder("image");
    empty_folder(&folder)?;
    let place = folder.display();
    let buildah = format!("buildah --root '{place}/root' --runroot '{place}/run' --storage-driver vfs");
    let text = format!(
        "name=$({buildah} from 'oci-archive:{}')
         trap '{buildah} rm -a >/dev/null; {buildah} rmi -a -f >/dev/null' EXIT
         run() {{ {buildah} run --isolation chroot \"$name\" -- \"$@\"; }}
         run iodyno --version
         run fio --version
         run iodyno measure --quick --no-save /home/iodyno
         echo \"measured: $?\"
         run iodyno doctor --json || test $? = 1
         {buildah} inspect --format 'user: {{{{.OCIv1.Config.User}}}}' \"$name\"",
        archive.display()
    );
    let said = script("bash", &text);
    // Layers of a storage are read-only folders of many owners.
    let _ = lines_of("rm", &["-rf", &folder.display().to_string()], &trial.release.scratch);
    let said = said?;
    expect(&said, &format!("iodyno {}", trial.release.version))?;
    expect(&said, "measured: 0")?;
    expect(&said, "user: 65532:65532")?;
    if said.iter().any(|line| line.contains("this user is root")) {
        return Err(Unmade::Failed("the program runs as root in it".into()));
    }
    Ok("read by buildah; measured, doctor, not as root".into())
}
