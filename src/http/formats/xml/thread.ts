// http: the thread in which large XML is decoded, one document at a time. It says when it is ready for the first.
import { parentPort } from 'node:worker_threads'
import { FluxError, type Failure } from '../../../model/failure.ts'
import { decodeXml, type XmlOptions } from './decode.ts'
import { cut, type Pieces } from './transfer.ts'

export interface ToThread {
  readonly text: string
  readonly options: XmlOptions
}
export type Outcome = { readonly pieces: Pieces } | { readonly failure: Failure } | { readonly fault: string }
/** The first has no outcome. */
export interface FromThread {
  readonly outcome?: Outcome
}

function outcomeOf({ text, options }: ToThread): Outcome {
  try {
    return { pieces: cut(decodeXml(text, options)) }
  } catch (error) {
    return error instanceof FluxError ? { failure: error.failure } : { fault: String(error) }
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
const say = (message: FromThread) => parentPort?.postMessage(message)

parentPort?.on('message', (document: ToThread) => say({ outcome: outcomeOf(document) }))
say({})
