// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "model/launch/field_reader.h"
#include "model/launch/launch.h"

// The parts of reading a launch file that have files of their own. Each adds to the launch what one kind of
// table says.

namespace turnstile {

/// `name` as seen from the folder of `file`, unless it is absolute.
std::string path_beside(const std::string& file, const std::string& name);

/// [[buffers]]; `fill` replaces the family of the buffers that allow it.
void read_buffers(FieldReader& reader, const TableView& root, std::optional<Family> fill, Launch& launch);

/// [[tensor_maps]]; needs the buffers. Refuses maps that break a rule (tensor_map_violation).
void read_tensor_maps(FieldReader& reader, const TableView& root, Launch& launch);

/// [[params]]; needs the buffers and the tensor maps.
void read_parameters(FieldReader& reader, const TableView& root, Launch& launch);

}  // namespace turnstile
