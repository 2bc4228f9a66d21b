//! Access control lists and the other extended attributes of files (`xattr(7)`).

use std::fs::File;
use std::io;

pub(super) use imp::keep_attributes;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod imp {
    use core::ffi::CStr;

    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
    use rustix::io::Errno;

    use super::{File, io};

    /// The maximum length of a value and of the list of names (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
    const MAX: usize = 64 * 1024;

    const ACCESS: &CStr = c"system.posix_acl_access";

    /// Attributes that the kernel makes from the content.
    const OF_CONTENT: [&CStr; 2] = [c"security.evm", c"security.ima"];

    /// Gives `new` the attributes of `old`. Returns an error if one cannot be kept. Some are removed by a write and by a
    /// change of the owner, so this is called after these.
    ///
    /// The group bits of the mode of a file with an access control list are its mask. Without the list they would be
    /// permissions of the group.
    pub(in super::super) fn keep_attributes(old: &File, new: &File) -> io::Result<()> {
        let mut names = vec![0; MAX];
        let len = match flistxattr(old, &mut names[..]) {
            // The file system has none.
            Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(()),
            len => len?,
        };
        let names = names[..len].split_inclusive(|&byte| byte == 0);
        let names: Vec<&CStr> = names.filter_map(|name| CStr::from_bytes_with_nul(name).ok()).collect();
        if !names.contains(&ACCESS) {
            // That of the directory, if it has a default one.
            match fremovexattr(new, ACCESS) {
                Err(Errno::NODATA | Errno::NOTSUP) => {}
                removed => removed?,
            }
        }
        for name in names.into_iter().filter(|name| !OF_CONTENT.contains(name)) {
            keep(old, new, name).map_err(|error| {
                let error = io::Error::from(error);
                let name = name.to_string_lossy();
                io::Error::new(error.kind(), format!("its attribute {name} cannot be kept: {error}"))
            })?;
        }
        Ok(())
    }

    fn keep(old: &File, new: &File, name: &CStr) -> Result<(), Errno> {
        let mut value = vec![0; MAX];
        let mut own = vec![0; MAX];
        let len = fgetxattr(old, name, &mut value[..])?;
        let value = &value[..len];
        // An equal one, such as the label of SELinux, need not be permitted.
        if fgetxattr(new, name, &mut own[..]).is_ok_and(|len| own[..len] == *value) {
            return Ok(());
        }
        fsetxattr(new, name, value, XattrFlags::empty())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod imp {
    use super::{File, io};

    /// Does nothing.
    pub(in super::super) fn keep_attributes(_: &File, _: &File) -> io::Result<()> {
        Ok(())
    }
}
