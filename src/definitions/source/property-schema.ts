// definitions: the keys of property declarations and of .model files. `values/` reads them and checks their values; here
// is what editors know of these.
import { z } from 'zod'
import type { JsonObject } from '../../model/json/value.ts'
import { NOW, PROPERTY_TYPES } from '../values/types.ts'
import { ANYTHING, COMMENT, EDITORS, entry, PROPERTIES, TEXT, when } from './fields.ts'

const told = (description: string, facts: JsonObject = {}) => ANYTHING.meta({ description, ...facts })
/** Null and empty text count as absent, since editors write them. */
const absentOr = (type: string) => ({ type: [type, 'null', 'string'], maxLength: 0 })
const flagged = (description: string, otherwise = false) =>
  told(description, { ...absentOr('boolean'), default: otherwise })

export const PropertySchema = entry({
  name: z.unknown().meta({ description: 'Name of the property, unique in its list.', type: 'string', minLength: 1 }),
  type: told('Type of the value.', { enum: [...PROPERTY_TYPES, '', null], default: 'string' }),
  array: flagged('Whether it is a list of such values.'),
  defaultValue: told(`The value if none is given; "${NOW}" for a date: the time of use.`),
  required: flagged('Whether it must be given.'),
  allowNull: flagged('Whether it may be null.', true),
  allowExtraProperties: flagged('Whether a model keeps fields that are not declared.'),
  gloopProperties: told('The fields of a model.', absentOr('array')),
  reference: told('Dotted name of a .model file that has the fields.', { type: ['string', 'null'] }),
  comments: COMMENT,
  min: told('Least value of a number or a date.'),
  max: told('Greatest value of a number or a date.'),
  minLength: told('Least number of characters.'),
  maxLength: told('Greatest number of characters.'),
  choices: told('The values that are accepted: a list.'),
  allowOtherValues: flagged('Whether others than the choices are accepted.'),
  sensitive: flagged('Whether views, logs and the live stream show "[redacted]" for the value.'),
}).meta({
  id: 'property',
  description: 'A value that has a name and a type.',
  ...when(
    {
      required: ['type'],
      properties: { type: { const: 'model' }, reference: { anyOf: [{ type: 'null' }, { const: '' }] } },
    },
    { properties: { gloopProperties: { items: { $ref: '#/$defs/property' } } } },
  ),
})

/**
 * A .model file, which is a property of type model. The keys that are not checked here are read by the services that
 * refer to it.
 */
export const ModelFile = entry({
  ...Object.fromEntries(
    Object.entries(PropertySchema.shape).map(([key, facts]) => [key, told(facts.meta()?.description ?? '')]),
  ),
  $schema: EDITORS,
  gloopProperties: PROPERTIES.describe('The fields of the model.'),
  reference: TEXT.describe('Dotted name of the .model file that has the fields, in place of this one.'),
}).meta({ id: 'model', description: 'Fields that properties of type model refer to.' })
