// client: the lines of an answer, as they come, and the text of one. Neither takes more memory than a bound, whatever the
// server sends.

/** Bytes of a line, or of an answer that is no success. */
export const MAX_TEXT_BYTES = 67_108_864

/** Yields each line without its end. What comes after the last end is no line: the answer was cut off. @throws Error if one is too long */
export async function* linesOf(
  body: ReadableStream<Uint8Array>,
  { onBytes }: { readonly onBytes?: () => void } = {},
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  // Pieces of a line that has no end yet: they are joined once.
  let open: string[] = []
  let openBytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes?.()
      const [first = '', ...others] = decoder.decode(value, { stream: true }).split('\n')
      open.push(first)
      openBytes = others.length > 0 ? 0 : openBytes + value.length
      if (openBytes > MAX_TEXT_BYTES) throw new Error(`a line of the answer is longer than ${MAX_TEXT_BYTES} bytes`)
      for (const next of others) {
        const line = open.join('')
        open = [next]
        yield line.endsWith('\r') ? line.slice(0, -1) : line
      }
    }
  } finally {
    // It fails where the answer has failed already.
    await reader.cancel().catch(() => undefined)
  }
}

/** The text of an answer; of a longer one, its first `MAX_TEXT_BYTES`. */
export async function boundedText(response: Response): Promise<string> {
  const { body } = response
  // A fetch that the client was given may make answers without such a stream.
  if (typeof body?.getReader !== 'function') return response.text()
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const parts: string[] = []
  try {
    for (let bytes = 0; bytes < MAX_TEXT_BYTES;) {
      const { done, value } = await reader.read()
      if (done) break
      bytes += value.length
      parts.push(decoder.decode(value, { stream: true }))
    }
    return parts.join('')
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
