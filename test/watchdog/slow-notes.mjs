// Notes whose second writing takes long. Each step of it is a line of a file.
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export function openNotes({ file }) {
  const tell = (line) => appendFileSync(file, `${line}\n`)
  tell('opened')
  let count = 0
  return {
    async write() {
      const nr = (count += 1)
      tell(`begins ${nr}`)
      if (nr === 2) await sleep(1500)
      tell(`wrote ${nr}`)
    },
    async erase() {
      tell('erased')
    },
  }
}
