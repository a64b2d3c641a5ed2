// ports: time. Tests move it by hand.

export interface Clock {
  /** Epoch milliseconds. */
  now(): number
  /** Calls back once after so many milliseconds, however many they are; gives a function that calls it off. */
  after(milliseconds: number, callback: () => void): () => void
}
