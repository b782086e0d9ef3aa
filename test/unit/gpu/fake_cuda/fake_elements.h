// Elements of tensors as doubles, for the fake libraries.
#pragma once
#include <stdint.h>
#include <string.h>

enum Element { ELEMENT_F32, ELEMENT_F64, ELEMENT_F16, ELEMENT_BF16, ELEMENT_I8, ELEMENT_I32 };

static inline int element_bytes(enum Element type) {
  return type == ELEMENT_F64 ? 8 : type == ELEMENT_F32 || type == ELEMENT_I32 ? 4 : type == ELEMENT_I8 ? 1 : 2;
}

static inline double load_element(const char *at, enum Element type, int64_t index) {
  at += index * element_bytes(type);
  switch (type) {
  case ELEMENT_F64:
    return *(const double *)at;
  case ELEMENT_F32:
    return *(const float *)at;
  case ELEMENT_F16:
    return (float)*(const _Float16 *)at;
  case ELEMENT_I8:
    return *(const int8_t *)at;
  case ELEMENT_I32:
    return *(const int32_t *)at;
  default:
    break;
  }
  const uint32_t wide = (uint32_t)*(const uint16_t *)at << 16;
  float value;
  memcpy(&value, &wide, 4);
  return value;
}

static inline void store_element(char *at, enum Element type, int64_t index, double value) {
  at += index * element_bytes(type);
  const float single = (float)value;
  switch (type) {
  case ELEMENT_F64:
    *(double *)at = value;
    return;
  case ELEMENT_F32:
    *(float *)at = single;
    return;
  case ELEMENT_F16:
    *(_Float16 *)at = (_Float16)single;
    return;
  case ELEMENT_I8:
    *(int8_t *)at = (int8_t)value;
    return;
  case ELEMENT_I32:
    *(int32_t *)at = (int32_t)value;
    return;
  default:
    break;
  }
  uint32_t wide;
  memcpy(&wide, &single, 4);
  *(uint16_t *)at = (uint16_t)((wide + 0x7FFF + (wide >> 16 & 1)) >> 16);
}
