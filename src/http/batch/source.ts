// http: the bytes of a request as they come, unpacked, no faster than they are taken.
import { PassThrough } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Context } from 'hono'
import { FluxError, malformed, tooLarge, unsupportedType } from '../../model/failure.ts'
import { codingOf } from '../request/body.ts'
import { bodyOf, type Env } from '../request/incoming.ts'

export interface ByteSource {
  /** Throws a FluxError when the body ends early, or can't be unpacked. */
  readonly chunks: AsyncIterable<Buffer>
  /** Gives nothing more but that error. The connection stays open. */
  breakOff(error: FluxError): void
}

/**
 * A compressed body may unpack to this many bytes in any case, and to so many for each byte of its own: lines of data to
 * 10 to 50, what only keeps the server busy to 1,000.
 */
const MAX_UNPACKED = { bytes: 1_048_576, ratio: 200 }

/** Bytes that are unpacked at a time. */
const UNPACKED_BYTES = 65_536

/** Whether the body is compressed with gzip. @throws FluxError `unsupportedType` for another coding */
export function isGzip(c: Context<Env>): boolean {
  const coding = codingOf(c)
  // RFC 9110, 8.4.1.3: the two mean the same.
  if (coding === 'gzip' || coding === 'x-gzip') return true
  if (coding === 'identity') return false
  throw unsupportedType('the body may be compressed with gzip, and with nothing else')
}

export function openSource(c: Context<Env>, isPacked: boolean): ByteSource {
  const body = bodyOf(c)
  const gunzip = isPacked ? createGunzip({ chunkSize: UNPACKED_BYTES }) : null
  const stream = body.pipe(gunzip ?? new PassThrough())
  body.on('error', () => stream.destroy(malformed('the body ended early')))
  stream.on('close', () => body.unpipe(stream).pause())
  async function* chunks() {
    let bytes = 0
    try {
      for await (const chunk of stream) {
        bytes += chunk.length
        if (gunzip && bytes > MAX_UNPACKED.bytes + MAX_UNPACKED.ratio * gunzip.bytesWritten)
          throw tooLarge(`the body unpacks to more than ${MAX_UNPACKED.ratio} times its size`)
        yield chunk
      }
    } catch (error) {
      throw error instanceof FluxError ? error : malformed('the body is not valid gzip')
    }
  }
  return { chunks: chunks(), breakOff: (error) => void stream.destroy(error) }
}
