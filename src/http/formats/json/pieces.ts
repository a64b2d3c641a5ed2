// http: texts in pieces, which are small so that other requests are served in between.

/** Characters of a piece, approximately: at most a millisecond of work. */
export const PIECE_CHARACTERS = 32_768

/** A text of which each piece is made when it is asked for. */
export type TextPieces = IterableIterator<string, void>

/** Joins texts until they are as long as a piece. */
export function* gathered(texts: Iterable<string>): Generator<string, void> {
  let text = ''
  for (const each of texts) {
    text += each
    if (text.length < PIECE_CHARACTERS) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

/** Splits a long text into parts without splitting a surrogate pair. */
export function* slices(text: string): Generator<string, void> {
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = Math.min(text.length, start + PIECE_CHARACTERS)
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end -= 1
    yield text.slice(start, end)
  }
}

/** Joins all pieces at once; for small texts. */
export const joinPieces = (pieces: Iterable<string>): string => [...pieces].join('')
