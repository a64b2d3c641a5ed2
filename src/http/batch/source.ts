// http: the bytes of a request as they come, unpacked, no faster than they are taken.
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Context } from 'hono'
import { FluxError, malformed, unsupportedType, type Failure } from '../../model/failure.ts'
import { headerOf, socketed, type Env } from '../request/incoming.ts'

/** Bytes of empty lines between two lines. Compressed, they cost their sender next to nothing, and the server to read. */
export const MAX_BLANK_BYTES = 1_048_576
/** Why a request with more of them is read no further. */
export const TOO_BLANK: Failure = {
  kind: 'tooLarge',
  detail: `more than ${MAX_BLANK_BYTES} bytes of empty lines came between two lines`,
}

/**
 * A compressed body may unpack to this many bytes in any case, and to so many for each byte of its own: lines of data to
 * 10 to 50, what only keeps the server busy to 1,000.
 */
const MAX_UNPACKED = { bytes: 1_048_576, ratio: 200 }
const TOO_DENSE: Failure = {
  kind: 'tooLarge',
  detail: `the body unpacks to more than ${MAX_UNPACKED.ratio} times its size`,
}

export interface PausableSource {
  pause(): void
  resume(): void
  /** Gives nothing more. What still comes isn't looked at. */
  close(): void
}

export interface SourceEvents {
  readonly onChunk: (chunk: Buffer) => void
  readonly onEnd: () => void
  readonly onFault: (error: FluxError) => void
}

export type Coding = 'identity' | 'gzip'

/** @throws FluxError `unsupportedType` for one that isn't known here */
export function codingOf(c: Context<Env>): Coding {
  const coding = headerOf(c, 'content-encoding')?.trim().toLowerCase() ?? 'identity'
  // RFC 9110, 8.4.1.3: the two mean the same.
  if (coding === 'gzip' || coding === 'x-gzip') return 'gzip'
  if (coding === 'identity') return coding
  throw unsupportedType('the body may be compressed with gzip, and with nothing else')
}

/** Bytes that are unpacked at a time. */
const UNPACKED_BYTES = 65_536

/** Reads nothing before `resume` is called. */
export function openSource(c: Context<Env>, coding: Coding, { onChunk, onEnd, onFault }: SourceEvents): PausableSource {
  const body: Readable = socketed(c) ? c.env.incoming : Readable.from(c.req.raw.body ?? [])
  const unpacked = coding === 'gzip' ? createGunzip({ chunkSize: UNPACKED_BYTES }) : null
  const stream = unpacked ?? body
  let isClosed = false
  const close = () => {
    if (isClosed) return
    isClosed = true
    stream.off('data', take).off('end', end)
    if (unpacked) {
      body.unpipe(unpacked)
      unpacked.destroy()
    }
    body.pause()
  }
  let given = 0
  const take = (chunk: Uint8Array) => {
    given += chunk.length
    if (unpacked && given > MAX_UNPACKED.bytes + MAX_UNPACKED.ratio * unpacked.bytesWritten)
      return fail(new FluxError(TOO_DENSE))()
    onChunk(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk))
  }
  const end = () => {
    close()
    onEnd()
  }
  const fail = (error: FluxError) => () => {
    if (isClosed) return
    close()
    onFault(error)
  }
  stream.pause()
  stream.on('data', take).on('end', end)
  // They stay: what nobody listens to ends the process.
  body.on('error', fail(malformed('the body ended early')))
  unpacked?.on('error', fail(malformed('the body is not valid gzip')))
  if (unpacked) body.pipe(unpacked)
  return {
    pause: () => void stream.pause(),
    resume: () => void (isClosed || stream.resume()),
    close,
  }
}
