func.func @f() -> i32 {
  return %a : i32
}
