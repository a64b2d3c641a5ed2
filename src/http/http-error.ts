// http: the refusals that only HTTP knows.

export type HttpFailure =
  | { readonly kind: 'noRoute' | 'notAcceptable' | 'tooLarge' | 'unsupportedType' | 'internal' | 'timeout' | 'headersTooLarge' | 'expectation'; readonly detail: string }
  | { readonly kind: 'wrongMethod'; readonly detail: string; readonly allow: readonly string[] }

export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly failure: HttpFailure
  constructor(failure: HttpFailure) {
    super(failure.detail)
    this.failure = failure
  }
}
