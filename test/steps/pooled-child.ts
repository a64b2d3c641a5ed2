// For pooled-process.test.ts: answers each message, and then makes the file that it names.
import { writeFileSync } from 'node:fs'

process.on('message', ({ file }: { readonly file: string }) => {
  process.send?.('answer', () => {
    if (file !== '') writeFileSync(file, '')
  })
})
process.on('disconnect', () => process.exit())
