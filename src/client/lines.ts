// client: the lines of an answer, as they come, and the text of one. Neither takes more memory than a bound, whatever the
// server sends.

/** Characters of a line, or of an answer that is no success. */
export const MAX_TEXT_CHARACTERS = 67_108_864

/** The text of a body, as it comes. It ends, too, when nothing has come for `silence` milliseconds while it was read. */
async function* piecesOf(body: ReadableStream<Uint8Array>, silence?: number) {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  // It fails where the answer has failed already.
  const cancel = () => reader.cancel().catch(() => undefined)
  try {
    for (;;) {
      const timer = silence === undefined ? undefined : setTimeout(cancel, silence)
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    await cancel()
  }
}

/**
 * Yields each line without its end. What comes after the last end is no line: the answer was cut off.
 * @param silence milliseconds without a byte after which the answer counts as cut off
 * @throws Error if a line is too long
 */
export async function* linesOf(
  body: ReadableStream<Uint8Array>,
  silence?: number,
): AsyncGenerator<string, void, undefined> {
  /** The line that has no end yet. */
  let open = ''
  for await (const piece of piecesOf(body, silence)) {
    const [first = '', ...others] = piece.split('\n')
    open += first
    if (open.length > MAX_TEXT_CHARACTERS)
      throw new Error(`a line of the answer is longer than ${MAX_TEXT_CHARACTERS} characters`)
    for (const next of others) {
      yield open.endsWith('\r') ? open.slice(0, -1) : open
      open = next
    }
  }
}

/** The text of an answer; of a longer one, its beginning. */
export async function boundedText(response: Response): Promise<string> {
  const { body } = response
  // A fetch that the client was given may make answers without such a stream.
  if (typeof body?.getReader !== 'function') return response.text()
  let text = ''
  for await (const piece of piecesOf(body)) {
    text += piece
    if (text.length > MAX_TEXT_CHARACTERS) break
  }
  return text
}
