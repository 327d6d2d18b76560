//! Standard output that is printed while it arrives.

use std::io::{Error, ErrorKind, Read, Write};
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

    /// Copies the body to `output` as it arrives. A second thread drains the socket, so that a slow reader,
    /// such as a pager, does not keep the daemon from exiting.
    pub fn copy_to(&self, output: &mut impl Write) -> Result<(), CopyError> {
        output.write_all(&self.arrived).map_err(CopyError::Output)?;
        let (sender, chunks) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || self.receive(&sender));
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
