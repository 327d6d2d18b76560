//! Standard output that is printed while it arrives.

use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;

/// A body up to this size is read before anything is printed, so that the client can repeat a request whose
/// reply was lost. A longer one is printed as it arrives, in chunks of at most this size.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// A long body that is still arriving.
#[derive(Debug)]
pub struct StreamedBody {
    arrived: Vec<u8>,
    missing: usize,
    stream: UnixStream,
}

/// Why a body was not copied completely.
#[derive(Debug)]
pub enum CopyError {
    /// Writing to the output failed.
    Output(Error),
    /// The daemon exited in the middle of its reply.
    Lost,
}

impl StreamedBody {
    /// Returns a body from its first bytes, the number of missing bytes, and the socket they come from.
    pub fn new(arrived: Vec<u8>, missing: usize, stream: UnixStream) -> Self {
        Self { arrived, missing, stream }
    }

    /// Copies the body to `output` as it arrives.
    pub fn copy_to(&self, output: &mut impl Write) -> Result<(), CopyError> {
        output.write_all(&self.arrived).map_err(CopyError::Output)?;
        self.copy_rest(self.missing, output)
    }

    /// Copies the body to a file as it arrives. If the file is a pipe whose reader keeps up, the kernel moves
    /// the bytes there, and this process never touches them.
    pub fn copy_to_file(&self, output: &mut (impl Write + AsFd)) -> Result<(), CopyError> {
        output.write_all(&self.arrived).and_then(|()| output.flush()).map_err(CopyError::Output)?;
        let missing = splice::splice(&self.stream, output.as_fd(), self.missing)?;
        self.copy_rest(missing, output)
    }

    /// Copies the last bytes of the body. A second thread drains the socket, so that a slow reader, such as a
    /// pager, does not keep the daemon from exiting.
    fn copy_rest(&self, missing: usize, output: &mut impl Write) -> Result<(), CopyError> {
        if missing == 0 {
            return Ok(());
        }
        let (sender, chunks) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || self.receive(missing, &sender));
            for chunk in chunks {
                let chunk: Vec<u8> = chunk.map_err(|_: Error| CopyError::Lost)?;
                if let Err(error) = output.write_all(&chunk) {
                    // Stop the other thread: the body has no reader any more.
                    let _ = self.stream.shutdown(std::net::Shutdown::Both);
                    return Err(CopyError::Output(error));
                }
            }
            Ok(())
        })
    }

    fn receive(&self, mut missing: usize, chunks: &mpsc::Sender<Result<Vec<u8>, Error>>) {
        while missing > 0 {
            let mut chunk = vec![0; missing.min(CHUNK_BYTES)];
            let received = match (&self.stream).read(&mut chunk) {
                Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                received => received,
            };
            let ends = received.is_err();
            let chunk = received.map(|bytes| {
                missing -= bytes;
                chunk.truncate(bytes);
                chunk
            });
            if chunks.send(chunk).is_err() || ends {
                return;
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod splice {
    use std::os::fd::{AsFd, BorrowedFd};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;
    use rustix::pipe::{SpliceFlags, fcntl_setpipe_size};

    use super::CopyError;

    /// A reader that takes nothing for this long is slow.
    const READER_PATIENCE: Duration = Duration::from_millis(100);

    /// The size of the pipe for a long body. With the default, the processes take turns at every 64 KiB.
    const PIPE_BYTES: usize = 1024 * 1024;

    /// Moves bytes from the socket to a pipe. Returns how many are left to be copied in another way: none, or
    /// the rest if the file is not a pipe or its reader is slow.
    pub fn splice(socket: &UnixStream, pipe: BorrowedFd<'_>, bytes: usize) -> Result<usize, CopyError> {
        let patience = socket.read_timeout().ok().flatten();
        let mut missing = bytes;
        let mut is_first = true;
        while missing > 0 {
            match rustix::pipe::splice(socket, None, pipe, None, missing, SpliceFlags::NONBLOCK) {
                Ok(0) | Err(Errno::CONNRESET) => return Err(CopyError::Lost),
                Ok(moved) => missing -= moved,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if !is_ready(socket.as_fd(), PollFlags::IN, patience) => {
                    return Err(CopyError::Lost);
                }
                Err(Errno::AGAIN) if is_ready(pipe, PollFlags::OUT, Some(READER_PATIENCE)) => {}
                // Not a pipe, or its reader is slow.
                Err(Errno::INVAL | Errno::AGAIN) => return Ok(missing),
                Err(error) => return Err(CopyError::Output(error.into())),
            }
            if is_first && missing > 0 {
                // The usual size is enough to be correct.
                let _ = fcntl_setpipe_size(pipe, PIPE_BYTES);
                is_first = false;
            }
        }
        Ok(0)
    }

    /// Waits until a file is ready or has failed, for at most this long.
    fn is_ready(file: BorrowedFd<'_>, what: PollFlags, patience: Option<Duration>) -> bool {
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        loop {
            match poll(&mut [PollFd::new(&file, what)], patience.as_ref()) {
                Err(Errno::INTR) => {}
                ready => return ready.is_ok_and(|count| count > 0),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod splice {
    use std::os::fd::BorrowedFd;
    use std::os::unix::net::UnixStream;

    use super::CopyError;

    /// Leaves all bytes to be copied in another way.
    pub fn splice(_socket: &UnixStream, _pipe: BorrowedFd<'_>, bytes: usize) -> Result<usize, CopyError> {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a body through a pipe, whose reader begins once the daemon has exited if it is `late`.
    fn through_pipe(late: bool, cut: usize) -> (Vec<u8>, Result<(), CopyError>) {
        let text: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let body = StreamedBody { arrived: text[..7].to_vec(), missing: text.len() - 7, stream: ours };
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        let (mut read, copied) = std::thread::scope(|scope| {
            let sending = scope.spawn(move || theirs.write_all(&text[7..text.len() - cut]).unwrap());
            let copying = scope.spawn(move || body.copy_to_file(&mut writer));
            if late {
                sending.join().unwrap();
            }
            let mut read = Vec::new();
            reader.read_to_end(&mut read).unwrap();
            (read, copying.join().unwrap())
        });
        let expected: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
        assert!(expected.starts_with(&read));
        read.drain(..read.len().min(expected.len() - cut));
        (read, copied)
    }

    #[test]
    fn a_body_arrives_through_a_pipe_and_a_slow_reader_does_not_keep_the_daemon() {
        for late in [false, true] {
            let (rest, copied) = through_pipe(late, 0);
            assert!(rest.is_empty() && copied.is_ok(), "late: {late}");
        }
        let (rest, copied) = through_pipe(false, 5);
        assert!(rest.is_empty() && matches!(copied, Err(CopyError::Lost)));
    }

    #[test]
    fn a_failing_output_ends_the_copy() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (stream, _daemon) = UnixStream::pair().unwrap();
        let body = StreamedBody { arrived: b"x".to_vec(), missing: 5, stream };
        assert!(matches!(body.copy_to(&mut Full), Err(CopyError::Output(_))));
    }
}
