// cli: `actorflux schema`: prints the JSON Schema of .flux and .model files.
import { definitionSchema } from '../definitions/editor/document.ts'
import { EXIT, UsageError, type Command } from './command.ts'
import { readOptions } from './options.ts'

const HELP = `Usage: actorflux schema

Prints the JSON Schema of .flux and .model files, for editors. It is also in the package, as actorflux/schema.json.`

export const schemaCommand: Command = async (args, world) => {
  const options = readOptions(args, { positionals: true })
  if (options.help) {
    world.out(HELP)
    return EXIT.fine
  }
  const [given] = options.positionals
  if (given !== undefined) throw new UsageError(`schema takes no ${given}: it prints the schema of all files`)
  world.out(JSON.stringify(definitionSchema()))
  return EXIT.fine
}
