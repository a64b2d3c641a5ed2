// cli/remote: `actorflux services` and `actorflux service`: the services of a server, one of them, its diagram, its machine
// and its schemas.
import { drawingOf } from '../../../inspector/diagram/drawing.ts'
import { svgFileOf } from '../../../inspector/diagram/standalone.tsx'
import { EXIT, UsageError } from '../../command.ts'
import { shownPlace } from '../../report.ts'
import { noWords, serviceFields, optionText, textOption, wordIn } from '../arguments.ts'
import { mermaidOf } from '../mermaid.ts'
import type { Remote, RemoteCommand } from '../remote.ts'
import { plainJson, plain, plainText } from '../text.ts'

type Service = Awaited<ReturnType<Remote['client']['listServices']>>['services'][number]

const countsText = (contexts: Service['contexts']): string =>
  Object.entries(contexts)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ')

export const servicesCommand: RemoteCommand = {
  usage: 'services',
  summary: 'list the services of the server, and the faults of their files',
  async run({ words }, { client, table, answer }) {
    noWords(words)
    const listed = await client.listServices()
    answer(listed, () => [
      ...(listed.services.length === 0
        ? ['No service.']
        : table(
            ['SERVICE', 'STATES', 'TRIGGERS', 'WEBHOOKS', 'CONTEXTS'],
            listed.services.map((service) => [
              { text: `${service.package}/${service.fluxName}` },
              { text: String(service.states.length) },
              { text: service.triggers.map(triggerText).join(', ') },
              { text: service.webhooks.map(({ urlPath }) => String(urlPath)).join(', ') },
              { text: countsText(service.contexts) },
            ]),
          )),
      ...listed.faults.map(({ file, pointer, line, column, reason, severity }) =>
        plain(`${shownPlace({ file, pointer, line, column })}: ${severity}: ${reason}`),
      ),
    ])
    return EXIT.fine
  },
}

function triggerText(trigger: unknown): string {
  if (typeof trigger === 'object' && trigger !== null && 'event' in trigger) return String(trigger.event)
  return typeof trigger === 'string' ? trigger : JSON.stringify(trigger)
}

export const showServiceCommand: RemoteCommand = {
  usage: 'service show <package/service>',
  summary: 'show a service: its inputs, states, triggers and webhooks',
  async run({ words }, remote) {
    const service = await serviceNamed(wordIn(words, 'package/service'), remote)
    remote.answer(service, () => serviceLines(service, remote))
    return EXIT.fine
  },
}

/** `fluxName` alone will do where only one package has it. */
async function serviceNamed(name: string, { client }: Remote): Promise<Service> {
  const { services: all } = await client.listServices()
  const found = all.filter((service) => [service.fluxName, `${service.package}/${service.fluxName}`].includes(name))
  const [service, ...others] = found
  if (service === undefined) throw new Error(`there is no service ${name}`)
  if (others.length > 0)
    throw new Error(`several packages have ${name}: ${found.map((each) => each.package).join(', ')}`)
  return service
}

const listLines = (name: string, texts: readonly string[]): string[] =>
  texts.length === 0 ? [] : [`${name}  ${plain(texts.join(', '))}`]

function serviceLines(service: Service, { table, style }: Remote): string[] {
  const { input, output, triggers, webhooks } = service
  const properties = (name: string, some: Service['input']) =>
    some.length === 0
      ? []
      : [
          '',
          ...table(
            [name, 'TYPE', 'REQUIRED', 'DEFAULT'],
            some.map((property) => [
              { text: String(property['name'] ?? '') },
              { text: String(property['type'] ?? 'string') },
              { text: property['required'] === true ? 'yes' : '' },
              { text: property['defaultValue'] === undefined ? '' : JSON.stringify(property['defaultValue']) },
            ]),
          ),
        ]
  return [
    style('bold', `${service.package}/${service.fluxName}`),
    ...(service.comment === null ? [] : [plain(service.comment)]),
    '',
    `file        ${plain(service.file)}`,
    `definition  ${plain(service.definition)}`,
    ...listLines('states    ', service.states),
    ...listLines('triggers  ', triggers.map(triggerText)),
    ...listLines(
      'webhooks  ',
      webhooks.map(({ urlPath }) => String(urlPath)),
    ),
    ...listLines('contexts  ', Object.keys(service.contexts).length === 0 ? [] : [countsText(service.contexts)]),
    ...properties('INPUT', input),
    ...properties('OUTPUT', output),
  ]
}

export const diagramCommand: RemoteCommand = {
  usage: 'service diagram <package/service>',
  summary: 'draw a service, to standard output',
  hasOwnForm: true,
  options: { format: textOption('svg|mermaid', 'svg if left out') },
  async run({ words, values }, { client, world }) {
    const fluxName = wordIn(words, 'package/service')
    const format = optionText(values, 'format') ?? 'svg'
    if (format !== 'svg' && format !== 'mermaid') throw new UsageError('--format must be svg or mermaid')
    const definition = await client.getDefinition(serviceFields(fluxName))
    if (format === 'mermaid') world.out(mermaidOf(definition))
    else {
      const drawing = await drawingOf(definition)
      if (drawing === null) throw new Error(`${fluxName} is too large to be drawn`)
      world.out(plainText(svgFileOf(drawing, fluxName)))
    }
    return EXIT.fine
  },
}

export const machineCommand: RemoteCommand = {
  usage: 'machine <package/service>',
  summary: "print a service as the configuration of a machine of XState, which XState's tools draw",
  async run({ words }, { client, isJson, world }) {
    const config = await client.getMachine(serviceFields(wordIn(words, 'package/service')))
    world.out(plainJson(config, isJson ? 0 : 2))
    return EXIT.fine
  },
}

export const serviceSchemaCommand: RemoteCommand = {
  usage: 'schema [package/service]',
  summary:
    'print the JSON Schemas of the inputs and outputs of a service; without one, that of .flux and .model files, for editors',
  async run({ words }, { client, isJson, world }) {
    const schemas = await client.getServiceSchema(serviceFields(wordIn(words, 'package/service')))
    world.out(plainJson(schemas, isJson ? 0 : 2))
    return EXIT.fine
  },
}
