// cli/remote: a service as a state diagram of Mermaid.
import { graphOf } from '../../inspector/diagram/graph.ts'
import type { JsonObject } from '../../model/json/value.ts'

/** Names get ids of their own, since Mermaid's may have no spaces; texts are written with Mermaid's references. */
export function mermaidOf(definition: JsonObject): string {
  const { states, edges, start } = graphOf(definition)
  const ids = new Map(states.map(({ name }, index) => [name, `s${index}`]))
  const idOf = (name: string) => ids.get(name) ?? ''
  return [
    'stateDiagram-v2',
    ...states.map(({ name, title }) => `  state "${escaped(title)}" as ${idOf(name)}`),
    ...(start === null ? [] : [`  [*] --> ${idOf(start)}`]),
    ...edges.map(
      ({ from, to, label }) => `  ${idOf(from)} --> ${idOf(to)}${label === '' ? '' : `: ${escaped(label)}`}`,
    ),
    ...states.filter(({ isEnd }) => isEnd).map(({ name }) => `  ${idOf(name)} --> [*]`),
  ].join('\n')
}

const escaped = (text: string) =>
  text.replace(/[^\p{L}\p{N} .,_/()+-]/gu, (character) => `#${character.codePointAt(0) ?? 0};`)
