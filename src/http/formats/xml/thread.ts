// http: the thread in which large XML is decoded, one document at a time. It says when it is ready for the first.
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
/** The first has no outcome. */
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
const say = (message: FromThread) => parentPort?.postMessage(message)

parentPort?.on('message', (document: DecodeJob) => say({ outcome: outcomeOf(document) }))
say({})
