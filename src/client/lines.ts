// client: the lines of an answer, as they come.

/** Yields each line without its end. What comes after the last end is no line: the answer was cut off. */
export async function* linesOf(
  body: ReadableStream<Uint8Array>,
  { onBytes }: { readonly onBytes?: () => void } = {},
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  // Pieces of a line that has no end yet: they are joined once.
  let open: string[] = []
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes?.()
      const [first = '', ...others] = decoder.decode(value, { stream: true }).split('\n')
      open.push(first)
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
