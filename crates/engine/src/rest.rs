//! Standard output that is printed while it arrives.

use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;

/// A body up to this size is read before anything is printed, so that a request whose reply was lost can be repeated. A
/// longer one is printed as it arrives, in chunks of at most this size.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// A long body that is still on its way.
#[derive(Debug)]
pub struct Rest {
    arrived: Vec<u8>,
    missing: usize,
    stream: UnixStream,
}

/// Why a body was not copied to its end.
#[derive(Debug)]
pub enum NotCopied {
    /// The output failed.
    Output(Error),
    /// The daemon ended in the middle of its reply.
    Lost,
}

impl Rest {
    /// The first bytes, the number of those that follow, and where they come from.
    pub fn new(arrived: Vec<u8>, missing: usize, stream: UnixStream) -> Self {
        Self { arrived, missing, stream }
    }

    /// Copies the body to `output` as it arrives. A second thread empties the socket meanwhile: a reader of the output that
    /// takes its time, such as a pager, must not keep the daemon from leaving.
    pub fn copy_to(&self, output: &mut impl Write) -> Result<(), NotCopied> {
        output.write_all(&self.arrived).map_err(NotCopied::Output)?;
        let (sender, chunks) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || self.receive(&sender));
            for chunk in chunks {
                let chunk: Vec<u8> = chunk.map_err(|_: Error| NotCopied::Lost)?;
                if let Err(error) = output.write_all(&chunk) {
                    // The other thread need not wait for a body that has no reader.
                    let _ = self.stream.shutdown(std::net::Shutdown::Both);
                    return Err(NotCopied::Output(error));
                }
            }
            Ok(())
        })
    }

    fn receive(&self, chunks: &mpsc::Sender<Result<Vec<u8>, Error>>) {
        let mut missing = self.missing;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_fails_ends_the_copy() {
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
        let rest = Rest { arrived: b"x".to_vec(), missing: 5, stream };
        assert!(matches!(rest.copy_to(&mut Full), Err(NotCopied::Output(_))));
    }
}
