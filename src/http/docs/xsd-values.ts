// http: the types of the XML Schema for values of any kind. The types of the answers use them.

export const VALUE_TYPES = `  <!-- How values are written -->

  <xs:simpleType name="jsonType">
    <xs:restriction base="xs:string">
      <xs:enumeration value="number"/>
      <xs:enumeration value="boolean"/>
      <xs:enumeration value="null"/>
      <xs:enumeration value="array"/>
      <xs:enumeration value="object"/>
    </xs:restriction>
  </xs:simpleType>

  <xs:simpleType name="escaped">
    <xs:annotation>
      <xs:documentation>
        What of the element is escaped, since XML can't hold it: \\uXXXX is a UTF-16 code unit, \\\\ a backslash.
        Without this attribute a backslash is a backslash.
      </xs:documentation>
    </xs:annotation>
    <xs:restriction base="xs:string">
      <xs:enumeration value="name"/>
      <xs:enumeration value="text"/>
      <xs:enumeration value="name text"/>
    </xs:restriction>
  </xs:simpleType>

  <xs:complexType name="data" mixed="true">
    <xs:annotation>
      <xs:documentation>
        Any data: a text, a number and so on, fields, or items. A field whose name can't be that of an element is an
        entry element with the name in its attribute.
      </xs:documentation>
    </xs:annotation>
    <xs:sequence>
      <xs:any minOccurs="0" maxOccurs="unbounded" processContents="skip"/>
    </xs:sequence>
    <xs:attribute name="type" type="jsonType"/>
    <xs:attribute name="name" type="xs:string"/>
    <xs:attribute name="escaped" type="escaped"/>
  </xs:complexType>

  <xs:complexType name="dataList">
    <xs:sequence>
      <xs:element name="item" type="data" minOccurs="0" maxOccurs="unbounded"/>
    </xs:sequence>
    <xs:attribute name="type" type="arrayType" use="required"/>
  </xs:complexType>

  <xs:simpleType name="arrayType">
    <xs:restriction base="jsonType">
      <xs:enumeration value="array"/>
    </xs:restriction>
  </xs:simpleType>
  <xs:simpleType name="nullType">
    <xs:restriction base="jsonType">
      <xs:enumeration value="null"/>
    </xs:restriction>
  </xs:simpleType>
  <xs:simpleType name="numberType">
    <xs:restriction base="jsonType">
      <xs:enumeration value="number"/>
    </xs:restriction>
  </xs:simpleType>
  <xs:simpleType name="booleanType">
    <xs:restriction base="jsonType">
      <xs:enumeration value="boolean"/>
    </xs:restriction>
  </xs:simpleType>
  <xs:simpleType name="numberOrNullType">
    <xs:restriction base="jsonType"><xs:enumeration value="number"/><xs:enumeration value="null"/></xs:restriction>
  </xs:simpleType>

  <xs:complexType name="text">
    <xs:simpleContent>
      <xs:extension base="xs:string">
        <xs:attribute name="escaped" type="escaped"/>
      </xs:extension>
    </xs:simpleContent>
  </xs:complexType>

  <xs:complexType name="textOrNull">
    <xs:simpleContent>
      <xs:extension base="xs:string">
        <xs:attribute name="escaped" type="escaped"/>
        <xs:attribute name="type" type="nullType"/>
      </xs:extension>
    </xs:simpleContent>
  </xs:complexType>

  <xs:complexType name="textList">
    <xs:sequence>
      <xs:element name="item" type="text" minOccurs="0" maxOccurs="unbounded"/>
    </xs:sequence>
    <xs:attribute name="type" type="arrayType" use="required"/>
  </xs:complexType>

  <xs:complexType name="number">
    <xs:simpleContent>
      <xs:extension base="xs:long">
        <xs:attribute name="type" type="numberType" use="required"/>
      </xs:extension>
    </xs:simpleContent>
  </xs:complexType>

  <xs:simpleType name="nothing"><xs:restriction base="xs:string"><xs:length value="0"/></xs:restriction></xs:simpleType>
  <xs:simpleType name="longOrNothing"><xs:union memberTypes="xs:long nothing"/></xs:simpleType>

  <xs:complexType name="numberOrNull">
    <xs:simpleContent>
      <xs:extension base="longOrNothing">
        <xs:attribute name="type" type="numberOrNullType" use="required"/>
      </xs:extension>
    </xs:simpleContent>
  </xs:complexType>

  <xs:complexType name="boolean">
    <xs:simpleContent>
      <xs:extension base="xs:boolean">
        <xs:attribute name="type" type="booleanType" use="required"/>
      </xs:extension>
    </xs:simpleContent>
  </xs:complexType>`
