// http: the thread that decodes large XML, one document at a time. Its first message says that it is ready.
import { parentPort } from 'node:worker_threads'
import { FluxError, type Failure } from '../../../model/failure.ts'
import { decodeXml, type XmlOptions } from './decode.ts'
import { cut, type TransferredPieces } from './transfer.ts'

export interface DecodeJob {
  readonly text: string
  readonly options: XmlOptions
}
export type DecodeOutcome =
  { readonly pieces: TransferredPieces } | { readonly failure: Failure } | { readonly fault: string }
/** The first message has no outcome. */
export interface FromThread {
  readonly outcome?: DecodeOutcome
}

function outcomeOf({ text, options }: DecodeJob): DecodeOutcome {
  try {
    return { pieces: cut(decodeXml(text, options)) }
  } catch (error) {
    return error instanceof FluxError ? { failure: error.failure } : { fault: String(error) }
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
const post = (message: FromThread) => parentPort?.postMessage(message)

parentPort?.on('message', (document: DecodeJob) => post({ outcome: outcomeOf(document) }))
post({})
