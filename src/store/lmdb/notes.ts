// store/lmdb: the note that the watchdog's thread writes when the event loop is blocked: a file beside the data, which
// is complete or does not exist.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readStandstill, type Standstill } from '../../model/standstill.ts'
import type { StandstillNotes } from '../../ports/steps.ts'

interface Note {
  readonly owner: string
  readonly text: string
}

export const noteFileIn = (folder: string, namespace = 'default'): string =>
  join(folder, `${encodeURIComponent(namespace)}.standstill.json`)

/** The module that opens the notes in the watchdog's thread. */
export const NOTES_MODULE = import.meta.url

/** Writes are synchronous, because nothing else runs in that thread. */
export const openNotes = (file: string): StandstillNotes => ({
  async write(owner, text) {
    const note: Note = { owner, text }
    writeFileSync(`${file}.tmp`, JSON.stringify(note), { mode: 0o600, flush: true })
    renameSync(`${file}.tmp`, file)
  },
  async erase() {
    rmSync(file, { force: true })
  },
})

/** The note about that server; null if there is none that can be read. */
export function readNote(file: string, owner: string): Standstill | null {
  try {
    const note: Note = JSON.parse(readFileSync(file, 'utf8'))
    return note.owner === owner ? readStandstill(note.text) : null
  } catch {
    return null
  }
}
