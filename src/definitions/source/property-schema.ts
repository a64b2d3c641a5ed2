// definitions: the part of the table of keys that is about properties, and .model files.
import { z } from 'zod'
import type { JsonObject } from '../../model/json/value.ts'
import { NOW, PROPERTY_TYPES } from '../values/types.ts'
import { ANYTHING, COMMENT, NAMED, NULLABLE_TEXT, PROPERTIES, TEXT } from './fields.ts'

/** Null and empty text count as absent, since editors write them. */
const absentOr = (type: string): JsonObject => ({ type: [type, 'null', 'string'], maxLength: 0 })

export const PropertySchema = z
  .object({
    name: ANYTHING.meta({ description: 'Name of the property, unique in its list.', ...NAMED }),
    type: ANYTHING.meta({
      description: 'Type of the value.',
      enum: [...PROPERTY_TYPES, '', null],
      default: 'string',
    }),
    array: ANYTHING.meta({
      description: 'Whether it is a list of such values.',
      ...absentOr('boolean'),
      default: false,
    }),
    defaultValue: ANYTHING.meta({ description: `The value if none is given; "${NOW}" for a date: the time of use.` }),
    required: ANYTHING.meta({ description: 'Whether it must be given.', ...absentOr('boolean'), default: false }),
    allowNull: ANYTHING.meta({ description: 'Whether it may be null.', ...absentOr('boolean'), default: true }),
    allowExtraProperties: ANYTHING.meta({
      description: 'Whether a model keeps fields that are not declared.',
      ...absentOr('boolean'),
      default: false,
    }),
    gloopProperties: ANYTHING.meta({ description: 'The fields of a model.', ...absentOr('array') }),
    reference: ANYTHING.meta({ description: 'Dotted name of a .model file that has the fields.', ...NULLABLE_TEXT }),
    comments: COMMENT,
    min: ANYTHING.meta({ description: 'Least value of a number or a date.' }),
    max: ANYTHING.meta({ description: 'Greatest value of a number or a date.' }),
    minLength: ANYTHING.meta({ description: 'Least number of characters.' }),
    maxLength: ANYTHING.meta({ description: 'Greatest number of characters.' }),
    choices: ANYTHING.meta({ description: 'The values that are accepted: a list.' }),
    allowOtherValues: ANYTHING.meta({
      description: 'Whether others than the choices are accepted.',
      ...absentOr('boolean'),
      default: false,
    }),
    sensitive: ANYTHING.meta({
      description: 'Whether views, logs and the live stream show "[redacted]" for the value.',
      ...absentOr('boolean'),
      default: false,
    }),
  })
  .meta({ title: 'Property', description: 'A value that has a name and a type.', required: ['name'] })

/** A .model file, which is a property of type model. */
export const ModelFile = PropertySchema.extend({
  $schema: ANYTHING.meta({ description: 'Where editors find the JSON Schema of the file.' }),
  gloopProperties: PROPERTIES.meta({ description: 'The fields of the model.' }),
  reference: TEXT.meta({ description: 'Dotted name of the .model file that has the fields, in place of this one.' }),
}).meta({ title: 'Model', description: 'Fields that properties of type model refer to.' })
